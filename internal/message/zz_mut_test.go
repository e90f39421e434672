package message_test
import ("testing";"os";"fmt";"runpython/internal/message";"encoding/json")
func TestMutDev(t *testing.T){
 b,err:=os.ReadFile("/tmp/mut.json"); if err!=nil {t.Skip()}
 var l [][2]any; json.Unmarshal(b,&l); type c struct{n,code,may int}; r:=map[string]*c{}; shown:=0
 for _,x:=range l { s:=x[1].(string); k:="1"; n:=int(x[0].(float64)); if n>1{k="2-5"}; if n>5{k="6+"}
  if r[k]==nil{r[k]=&c{}}; m:=message.Read(s); r[k].n++
  if m.Kind==message.Code{r[k].code++} else { if len(m.Candidates)>0 {r[k].may++}; if shown<70{shown++; fmt.Printf("%v %.150q\n",m.Kind,s)}}
 }
 for k,v:=range r {fmt.Println(k,*v)}
}
